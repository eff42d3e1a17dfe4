#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    wiretape_fuzz::law::holds(bytes, Some(wiretape_fuzz::Format::GoVcr));
});
