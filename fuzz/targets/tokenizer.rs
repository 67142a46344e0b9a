#![no_main]

fuzz::target!("tokenizer");
