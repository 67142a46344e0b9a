#![no_main]

fuzz::target!("csv");
