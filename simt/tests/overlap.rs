//! Programmatic dependent launches: what a launch accesses while an earlier one is in flight.

use simt::{Arg, Buffer, Class, Dim, Launch, Module, Options};

/// Two blocks of 64 threads: thread i reads word i of `a` into `%x` where `READ` stands, and writes it, plus one, to
/// word i of `b` where `WRITE` stands.
fn text(body: &str) -> String {
    let body = body
        .replace("READ", "ld.global.u32 %x, [%a]; add.u32 %x, %x, 1")
        .replace("WRITE", "st.global.u32 [%b], %x")
        .replace("WAIT", "griddepcontrol.wait")
        .replace("TRIGGER", "griddepcontrol.launch_dependents");
    format!(
        ".version 8.4\n.target sm_90\n.address_size 64
        .entry kernel(.param .u64 a, .param .u64 b)
        {{
        .reg .u32 %i, %n, %x; .reg .u64 %a, %b; .reg .pred %p;
        ld.param.u64 %a, [a];
        ld.param.u64 %b, [b];
        mov.u32 %i, %tid.x;
        setp.eq.u32 %p, %i, 0;
        mov.u32 %n, %ctaid.x;
        mad.lo.u32 %i, %n, 64, %i;
        mad.wide.u32 %a, %i, 4, %a;
        mad.wide.u32 %b, %i, 4, %b;
        mov.u32 %x, 1;
        {body};
        ret;
        }}"
    )
}

/// Findings of a sequence of launches, all but the first programmatic: each a body, and the buffers that are its `a` and
/// `b`. Asserts that results equal those of launches that wait for each other.
fn found(launches: &[(&str, usize, usize)]) -> Vec<(usize, String)> {
    let kernels = launches.iter().map(|(body, ..)| {
        let module = Module::parse(&text(body)).unwrap();
        module.kernel("kernel").unwrap()
    });
    let kernels: Vec<_> = kernels.collect();
    let args = launches.iter().map(|&(_, a, b)| [a, b].map(Arg::Buffer));
    let args: Vec<_> = args.collect();
    let dim = Dim {
        grid: [2, 1, 1],
        block: [64, 1, 1],
        smem: 0,
    };
    let launches: Vec<Launch> = (kernels.iter().zip(&args).enumerate())
        .map(|(i, (kernel, args))| {
            let launch = Launch::new(kernel, dim, args);
            if i == 0 {
                launch
            } else {
                launch.programmatic()
            }
        })
        .collect();
    let fresh = || ["x", "y", "z", "w"].map(|name| Buffer::u32s(name, &[7; 128]));
    let (mut buffers, mut expected) = (fresh(), fresh());
    for launch in &launches {
        let report = launch.run(&mut expected, &Options::default()).unwrap();
        assert!(report.is_clean(), "{:#?}", report.findings);
    }
    let reports = simt::run(&launches, &mut buffers, &Options::default()).unwrap();
    assert_eq!(buffers, expected);
    let all = reports.iter().enumerate();
    all.flat_map(|(i, report)| report.findings.iter().map(move |f| (i, f)))
        .map(|(i, finding)| {
            assert_eq!(finding.class, Class::Race);
            (i, finding.what.split(" in ").next().unwrap().to_owned())
        })
        .collect()
}

const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;
const W: usize = 3;

#[test]
fn accesses_after_the_wait_are_in_order() {
    let step = "TRIGGER; WAIT; READ; WRITE";
    assert_eq!(found(&[(step, X, Y), (step, Y, Z), (step, Z, X)]), []);
    let late = "WAIT; TRIGGER; READ; WRITE";
    assert_eq!(found(&[(late, X, Y), (late, Y, Z), (late, Z, X)]), []);
}

#[test]
fn reads_before_the_wait() {
    let first = ("TRIGGER; READ; WRITE", X, Y);
    let said = "reads byte 0 of y before griddepcontrol.wait; launch 0 (`kernel`), which may be";
    for body in [
        "READ; WAIT; WRITE",
        "READ; TRIGGER; WAIT; WRITE",
        "READ; WRITE",
    ] {
        assert_eq!(found(&[first, (body, Y, Z)]), [(1, said.into())], "{body}");
    }
    // No launch writes W, so that reading it before the wait is safe.
    assert_eq!(found(&[first, ("READ; WAIT; WRITE", W, Z)]), []);
}

#[test]
fn writes_before_the_wait() {
    let first = ("READ; TRIGGER; WRITE", X, Y);
    let found = |a, b| found(&[first, ("READ; WRITE; WAIT", a, b)]);
    let said = |verb: &str| {
        format!(
            "writes byte 0 of {verb} before griddepcontrol.wait; launch 0 (`kernel`), which may be"
        )
    };
    assert_eq!(found(Z, X), [(1, said("x"))]);
    assert_eq!(found(Z, Y), [(1, said("y"))]);
    assert_eq!(found(Z, Z), []);
}

/// Without `launch_dependents` the next launch starts when all blocks have returned.
#[test]
fn a_launch_that_lets_no_other_start() {
    assert_eq!(found(&[("READ; WRITE", X, Y), ("READ; WRITE", Y, Z)]), []);
}

/// A barrier makes one thread's wait that of all.
#[test]
fn one_thread_waits_for_its_block() {
    let first = ("TRIGGER; READ; WRITE", X, Y);
    let body = |sync: &str| format!("@%p WAIT; {sync} READ; WRITE");
    assert_eq!(found(&[first, (&body("bar.sync 0;"), Y, Z)]), []);
    assert_eq!(found(&[first, (&body(""), Y, Z)]).len(), 1);
}

/// A launch that lets the next one start before it has waited runs that one together with the launch before.
#[test]
fn three_launches_in_flight() {
    let first = ("TRIGGER; READ; WRITE", X, Y);
    let third = ("READ; WAIT; WRITE", Y, Z);
    let said = "reads byte 0 of y before griddepcontrol.wait; launch 0 (`kernel`), which may be";
    let early = ("TRIGGER; WAIT; READ; WRITE", W, W);
    assert_eq!(found(&[first, early, third]), [(2, said.into())]);
    let late = ("WAIT; TRIGGER; READ; WRITE", W, W);
    assert_eq!(found(&[first, late, third]), []);
}

/// A wait is for the launch before, which has to have waited for those before it.
#[test]
fn a_launch_that_never_waits() {
    let first = ("TRIGGER; READ; WRITE", X, Y);
    let second = ("TRIGGER; READ; WRITE", W, W);
    let said = "reads byte 0 of y after griddepcontrol.wait, which waits for the launch before alone; launch 0 (`kernel`), which may be";
    assert_eq!(
        found(&[first, second, ("WAIT; READ; WRITE", Y, Z)]),
        [(2, said.into())]
    );
}

/// A launch may read the bytes that the one before wrote; the rest of a buffer still has no value.
#[test]
fn a_launch_reads_what_the_one_before_wrote() {
    let kernel = |body: &str| {
        Module::parse(&text(body))
            .unwrap()
            .kernel("kernel")
            .unwrap()
    };
    let step = kernel("READ; WRITE");
    let dim = |blocks| Dim {
        grid: [blocks, 1, 1],
        block: [64, 1, 1],
        smem: 0,
    };
    let args = [
        [Arg::Buffer(0), Arg::Buffer(1)],
        [Arg::Buffer(1), Arg::Buffer(2)],
    ];
    for (blocks, classes) in [(2, vec![]), (1, vec![Class::Uninitialised])] {
        let y = Buffer::uninitialised("y", 512);
        let mut buffers = [
            Buffer::u32s("x", &[7; 128]),
            y,
            Buffer::uninitialised("z", 512),
        ];
        let row = [
            Launch::new(&step, dim(blocks), &args[0]),
            Launch::new(&step, dim(2), &args[1]),
        ];
        let reports = simt::run(&row, &mut buffers, &Options::default()).unwrap();
        assert!(reports[0].is_clean());
        let found: Vec<_> = reports[1].findings.iter().map(|f| f.class).collect();
        assert_eq!(found, classes);
        assert_eq!(buffers[2].to_u32s()[..64], [9; 64]);
    }
}
