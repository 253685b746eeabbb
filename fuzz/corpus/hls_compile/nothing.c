void f(unsigned a[4]) { }
