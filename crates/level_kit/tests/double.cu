cuda
// y = 2 * x of N elements, one thread per element.
.version 6.3
.target sm_75
.address_size 64

.visible .entry double_f32(.param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %out;
    .reg .b32 %n, %i, %size, %t;
    .reg .b64 %x, %y, %at;
    .reg .f32 %v;
    ld.param.u64 %x, [x];
    ld.param.u64 %y, [y];
    ld.param.u32 %n, [n];
    cvta.to.global.u64 %x, %x;
    cvta.to.global.u64 %y, %y;
    mov.u32 %i, %ctaid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %t, %tid.x;
    mad.lo.u32 %i, %i, %size, %t;
    setp.ge.u32 %out, %i, %n;
    @%out ret;
    mul.wide.u32 %at, %i, 4;
    add.u64 %x, %x, %at;
    add.u64 %y, %y, %at;
    ld.global.f32 %v, [%x];
    add.f32 %v, %v, %v;
    st.global.f32 [%y], %v;
    ret;
}
