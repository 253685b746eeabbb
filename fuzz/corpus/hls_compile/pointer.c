void copy(unsigned char *a) { *a = 1; }
