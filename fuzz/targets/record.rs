#![no_main]

fuzz::target!("record");
