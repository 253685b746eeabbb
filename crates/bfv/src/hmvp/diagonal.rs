//! The diagonal method with baby and giant steps, in slots.
