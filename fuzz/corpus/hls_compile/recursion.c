static unsigned g(unsigned x) { return x ? g(x / 2) : 0; }
void f(unsigned a[4]) { a[0] = g(a[1]); }
