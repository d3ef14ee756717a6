/* The difference of two square roots, sent to the same process. Each line that ends in a comment shows one inaccurate number, by the
 * function named there, at the byte named there. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>

static volatile double x = 1e12;

__attribute__((noinline)) static double wrong(void) { return sqrt(x + 1) - sqrt(x); }

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    double array[6] = {1, 2, 3, wrong(), 5, 6}, received[6], sum;
    float single[2] = {1, (float)array[3]};
    MPI_Request request;
    MPI_Isend(array, 6, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &request); /* MPI_Isend 24 */
    MPI_Recv(received, 6, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* Without the inaccurate one. */
    MPI_Isend(array, 3, MPI_DOUBLE, 0, 2, MPI_COMM_SELF, &request);
    MPI_Recv(received, 6, MPI_DOUBLE, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Sendrecv(single, 2, MPI_FLOAT, 0, 3, received, 2, MPI_FLOAT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE); /* MPI_Sendrecv 4 single */
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);
    MPI_Sendrecv(array + 2, 1, pair, 0, 4, received, 1, pair, 0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE); /* MPI_Sendrecv 8 */
    MPI_Allreduce(array + 3, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); /* MPI_Allreduce 0 */
    printf("%g\n", array[0]);
    MPI_Finalize();
    return 0;
}
