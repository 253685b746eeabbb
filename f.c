#include <stdio.h>
#include <time.h>
int main(){struct timespec a,b;clock_gettime(CLOCK_MONOTONIC,&a);long x=1;for(long i=0;i<2000000000;i++){__asm__ volatile("add $1,%0":"+r"(x));}clock_gettime(CLOCK_MONOTONIC,&b);printf("%.3f GHz\n",2.0/((b.tv_sec-a.tv_sec)+1e-9*(b.tv_nsec-a.tv_nsec)));}
