#![no_main]

fuzz::target!("picture");
