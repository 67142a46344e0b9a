#![no_main]

fuzz::target!("preprocessor");
