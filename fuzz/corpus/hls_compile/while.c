void wait(unsigned char a[4]) { while (a[0]) a[0] = 0; }
