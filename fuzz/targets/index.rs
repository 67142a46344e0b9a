#![no_main]

fuzz::target!("index");
