//! The steps of a watched warp.

use simt::{Arg, Buffer, Dim, Module, Options, Report, Watch};

/// Thread i of block b sets out[i] = in[i + 4·b] through shared memory, after a branch that odd lanes take.
const TEXT: &str = ".version 8.4
.target sm_90
.address_size 64
.entry kernel(.param .u64 in, .param .u64 out)
{
    .reg .u32 %i, %b, %x, %odd;
    .reg .u64 %in, %out, %at, %s;
    .reg .pred %p;
    .shared .align 4 .b8 tile[256];
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    mov.u32 %i, %tid.x;
    mov.u32 %b, %ctaid.x;
    mad.wide.u32 %at, %b, 16, %in;
    mad.wide.u32 %at, %i, 4, %at;
    ld.global.u32 %x, [%at];
    and.b32 %odd, %i, 1;
    setp.eq.u32 %p, %odd, 1;
    @%p bra meet;
    add.u32 %x, %x, 1;
meet:
    mov.u64 %s, tile;
    mad.wide.u32 %s, %i, 4, %s;
    st.shared.u32 [%s], %x;
    @%p st.global.u32 [%out+-4], %x;
    ret;
}
";

fn report(trace: Option<Watch>, parallel: bool) -> Report {
    let kernel = Module::parse(TEXT).unwrap().kernel("kernel").unwrap();
    let mut buffers = [Buffer::u32s("in", &[7; 72]), Buffer::u32s("out", &[0; 64])];
    let dim = Dim {
        grid: [3, 1, 1],
        block: [48, 1, 1],
        smem: 0,
    };
    let options = Options {
        trace,
        parallel,
        ..Options::default()
    };
    let args = [Arg::Buffer(0), Arg::Buffer(1)];
    kernel.launch(dim, &mut buffers, &args, &options).unwrap()
}

fn watch(steps: usize) -> Option<Watch> {
    Some(Watch {
        block: [2, 0, 0],
        warp: 1,
        steps,
    })
}

const BORN: u32 = 0xffff;
const ODD: u32 = 0xaaaa;

#[test]
fn steps_of_one_warp() {
    let trace = report(watch(100), true).trace;
    let forms: Vec<(&str, u32)> = trace.iter().map(|s| (s.form.as_str(), s.active)).collect();
    let after = [
        ("bra", ODD),
        ("add.u32", BORN & !ODD),
        ("mov.u64", BORN),
        ("mad.wide.u32", BORN),
        ("st.shared.u32", BORN),
        ("st.global.u32", ODD),
        ("ret", BORN),
    ];
    assert_eq!(forms[forms.len() - 7..], after);
    assert_eq!(trace[0].line, 10);
    assert_eq!(trace.iter().filter(|s| s.form == "ret").count(), 1);
}

#[test]
fn addresses_of_the_active_lanes() {
    let trace = report(watch(100), false).trace;
    let of = |form: &str| {
        let step = trace.iter().find(|s| s.form == form).unwrap();
        let [access] = &step.accesses[..] else {
            panic!("{step:?}")
        };
        let space = serde_json::to_value(access.space).unwrap();
        let space = space.as_str().unwrap().to_string();
        (
            space,
            access.buffer.clone(),
            access.lanes,
            access.offsets.clone(),
        )
    };
    let four = |from: i64| (0..16).map(|lane| from + 4 * lane).collect::<Vec<i64>>();
    let read = ("global".into(), Some("in".into()), BORN, four(2 * 16 + 128));
    assert_eq!(of("ld.global.u32"), read);
    assert_eq!(
        of("st.shared.u32"),
        ("shared".into(), None, BORN, four(128))
    );
    // The address is before the buffer's start, so the offset is negative.
    let (_, buffer, lanes, offsets) = of("st.global.u32");
    assert_eq!((buffer.as_deref(), lanes), (Some("out"), ODD));
    assert_eq!(offsets, [-4; 16][..8]);
    assert!(
        trace
            .iter()
            .all(|s| s.form != "add.u32" || s.accesses.is_empty())
    );
}

#[test]
fn a_trace_is_bounded_and_off_by_default() {
    assert_eq!(report(watch(5), true).trace.len(), 5);
    assert_eq!(report(watch(0), true).trace, []);
    let untraced = report(None, true);
    assert_eq!(untraced.trace, []);
    let json = serde_json::to_value(&untraced).unwrap();
    assert!(json.get("trace").is_none());
    let json = serde_json::to_value(report(watch(7), true)).unwrap();
    assert_eq!(json["trace"].as_array().unwrap().len(), 7);
    assert_eq!(json["trace"][0]["form"], "ld.param.u64");
    // Recording changes nothing else.
    let mut traced = report(watch(100), true);
    traced.trace.clear();
    assert_eq!(traced, untraced);
}
