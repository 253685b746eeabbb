# Entry: a stack of our own, so that nothing depends on what the loader or QEMU puts there. Exits with main's result.
        .section .text.start, "ax"
        .globl  _start
_start:
        la      sp, stack_top
        call    main
        li      a7, 93
        ecall
