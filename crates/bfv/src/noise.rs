//! What the noise of each operation is expected to be, and how likely a wrong result is.
