/* An array with the difference of two square roots in it, written as it is. Each line that ends in a comment writes one inaccurate
 * number, by the function named there, at the byte named there. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static volatile double x = 1e12;

__attribute__((noinline)) static double wrong(void) { return sqrt(x + 1) - sqrt(x); }

int main(void) {
    double array[6] = {1, 2, 3, wrong(), 5, 6};
    struct { int number; float value; double others[3]; } record = {7, 0.5f, {1, array[3], 2}};
    double *many = calloc(20000, sizeof *many);
    many[15000] = wrong();
    FILE *file = tmpfile();
    int pair[2], fd = fileno(file);
    long written = 0;
    if (!file || socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return 1;

    fwrite(array, sizeof *array, 6, file); /* fwrite 24 */
    fwrite(&record, sizeof record, 1, file); /* fwrite 16 */
    fwrite(many, sizeof *many, 20000, file); /* fwrite 120000 */
    fprintf(file, "text");
    fflush(file);
    written += write(fd, array, sizeof array); /* write 24 */
    written += pwrite(fd, array + 3, 8, 0); /* write 0 */
    struct iovec pieces[2] = {{array, 16}, {array + 2, 32}};
    written += writev(fd, pieces, 2); /* write 24 */
    written += send(pair[0], array + 2, 16, 0); /* write 8 */
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    written += sendmsg(pair[0], &message, 0); /* write 24 */
    /* What is stored in a mapped file is written by that. One mapping is given up, the other is there to the end; nobody reads the third. */
    if (ftruncate(fd, 1 << 20)) return 1;
    const int rights = PROT_READ | PROT_WRITE;
    double *early = mmap(0, 8192, rights, MAP_SHARED, fd, 4096); /* mmap 4176 */
    double *late = mmap(0, 4096, rights, MAP_SHARED, fd, 16384); /* mmap 16400 */
    double *private = mmap(0, 4096, rights, MAP_PRIVATE, fd, 0);
    early[10] = late[2] = private[2] = wrong();
    munmap(early, 8192);
    /* What was overwritten is right. */
    memcpy(array + 3, "abcdefgh", 8);
    written += write(fd, array, sizeof array);
    printf("%ld\n", written);
    return 0;
}
