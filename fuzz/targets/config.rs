#![no_main]

fuzz::target!("config");
