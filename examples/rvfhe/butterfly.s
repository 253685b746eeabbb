# One butterfly of two vectors, as `ciphermill arch exec` runs it on a core:
# (a, b) <- (a + w*b, a - w*b) mod m, with a and b in vectors 0 and 1 of the scratchpad, the results in vectors 2 and 3.
# x10 is m. The first pair of the twiddle memory is w with its companion, the floor of w*2^32/m.
        csrrw   x0, m0, x10
        ldt     t0, 0(x0), broadcast
        lds     v0, 0(x0)
        lds     v1, 1(x0)
        mbfly   v0, v1, t0!, m0
        sts     v0, 2(x0)
        sts     v1, 3(x0)
        ebreak
