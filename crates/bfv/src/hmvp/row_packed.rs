//! Many rows per plaintext, split trace, double hoisting.
