//! The TFHE computing engine of `hw/rtl/tfhe_engine`: its microprogram.

pub mod micro;
