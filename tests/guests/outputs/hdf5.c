/* The difference of two square roots, written to a file of HDF5's. Each line that ends in a comment writes one inaccurate number, by the
 * function named there, at the byte named there. The library is that of Debian's Octave; its headers need not be installed. */
#include <math.h>
#include <stdio.h>

typedef long hid_t;
extern hid_t H5T_NATIVE_DOUBLE_g;
int H5open(void);
hid_t H5Fcreate(const char *, unsigned, hid_t, hid_t);
hid_t H5Screate_simple(int, const unsigned long *, const unsigned long *);
hid_t H5Dcreate2(hid_t, const char *, hid_t, hid_t, hid_t, hid_t, hid_t);
int H5Dwrite(hid_t, hid_t, hid_t, hid_t, hid_t, const void *);
int H5Dclose(hid_t);
int H5Fclose(hid_t);

static volatile double x = 1e12;

__attribute__((noinline)) static double wrong(void) { return sqrt(x + 1) - sqrt(x); }

int main(int argc, char **argv) {
    static double array[20000] = {1, 2};
    const unsigned long size = 20000;
    array[3] = wrong();
    H5open();
    hid_t file = H5Fcreate(argv[1], 2, 0, 0), space = H5Screate_simple(1, &size, 0);
    hid_t data = H5Dcreate2(file, "data", H5T_NATIVE_DOUBLE_g, space, 0, 0, 0);
    int status = H5Dwrite(data, H5T_NATIVE_DOUBLE_g, 0, 0, 0, array); /* write 24 */
    H5Dclose(data);
    return H5Fclose(file) | status | file < 0 | data < 0;
}
