#![no_main]

fuzz::target!("exercise");
