// The difference of two square roots, printed in every way that Go has. Each line that ends in a comment prints one inaccurate
// number, by the function named there.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"strconv"
)

var x = 1e12

type point struct{ X, Y float64 }

//go:noinline
func wrong() float64 { return math.Sqrt(x+1) - math.Sqrt(x) }

func main() {
	fmt.Println("one", wrong())                       // FormatFloat
	fmt.Printf("%d %.3g\n", 1, wrong())               // FormatFloat
	fmt.Fprintln(os.Stdout, float32(wrong()))         // FormatFloat single
	text := strconv.FormatFloat(wrong(), 'e', -1, 64) // FormatFloat
	fmt.Println(text, []float64{1, 2})
	fmt.Println(fmt.Sprint(&point{1, wrong()}))               // FormatFloat
	fmt.Println([]float64{1, wrong()})                        // FormatFloat
	log.New(os.Stdout, "", 0).Print(wrong())                  // FormatFloat
	made, _ := json.Marshal(map[string]float64{"d": wrong()}) // FormatFloat
	fmt.Println(string(made))
	println(wrong()) // println
}
