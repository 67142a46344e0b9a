#![no_main]

fuzz::target!("ptx");
