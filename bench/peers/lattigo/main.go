// Command lattigo multiplies a plain matrix and an encrypted vector with Lattigo's BFV/BGV, by the diagonal method with baby
// and giant steps, for the side-by-side measurements of Ciphermill. It is a server on standard input and output:
//
//	setup LOGN LOGQ,LOGQ,… LOGP,… T ROWS COLS SEED   makes keys, matrix and vector; answers "ok DIAGONALS"
//	run                                              multiplies; answers "ok NANOSECONDS"
//	fresh                                            encodes the matrix and multiplies; answers "ok NANOSECONDS"
//	check                                            decrypts the last product; answers "ok U_0 … U_(ROWS−1)"
//
// Entries are those of SplitMix64 from SEED, 8 bits signed: first the matrix, row after row, then the vector.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tuneinsight/lattigo/v6/circuits/bgv/lintrans"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/bgv"
)

// numbers is SplitMix64 as published by S. Vigna.
type numbers uint64

func (s *numbers) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// entry is the next 8-bit signed number: the highest byte.
func (s *numbers) entry() int64 { return int64(int8(s.next() >> 56)) }

type job struct {
	params         bgv.Parameters
	encoder        *bgv.Encoder
	decryptor      *rlwe.Decryptor
	evaluator      *bgv.Evaluator
	linear         *lintrans.Evaluator
	transformation lintrans.LinearTransformation
	diagonals      lintrans.Diagonals[int64]
	// Rotations that sum what the diagonals leave of a matrix with fewer rows than columns.
	folds          []int
	rows           int
	vector, result *rlwe.Ciphertext
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func ints(text string) (out []int) {
	for _, field := range strings.Split(text, ",") {
		n, err := strconv.Atoi(field)
		check(err)
		out = append(out, n)
	}
	return
}

func setup(args []string) *job {
	logN, rows, cols := ints(args[0])[0], ints(args[4])[0], ints(args[5])[0]
	t, err := strconv.ParseUint(args[3], 10, 64)
	check(err)
	seed, err := strconv.ParseUint(args[6], 10, 64)
	check(err)
	params, err := bgv.NewParametersFromLiteral(bgv.ParametersLiteral{
		LogN: logN, LogQ: ints(args[1]), LogP: ints(args[2]), PlaintextModulus: t,
	})
	check(err)
	slots := params.MaxSlots() / 2
	if rows > slots || cols > slots || cols&(cols-1) != 0 || rows&(rows-1) != 0 {
		panic(fmt.Sprintf("powers of two up to %d rows and columns", slots))
	}
	source := numbers(seed)
	matrix := make([][]int64, rows)
	for i := range matrix {
		matrix[i] = make([]int64, cols)
		for j := range matrix[i] {
			matrix[i][j] = source.entry()
		}
	}
	vector := make([]int64, cols)
	for j := range vector {
		vector[j] = source.entry()
	}

	// Diagonal d has A[i mod rows][(i + d) mod cols] at slot i, for as many diagonals as the shorter side has; the vector
	// is repeated. With fewer rows than columns the product at slot i is the sum of slots i, i + rows, ….
	count := min(rows, cols)
	diagonals := make(lintrans.Diagonals[int64], count)
	for d := 0; d < count; d++ {
		diagonal := make([]int64, params.MaxSlots())
		for i := 0; i < slots; i++ {
			if rows >= cols && i >= rows {
				break
			}
			diagonal[i] = matrix[i%rows][(i+d)%cols]
		}
		diagonals[d] = diagonal
	}
	var folds []int
	for step := rows; step < cols; step *= 2 {
		folds = append(folds, step)
	}
	values := make([]int64, params.MaxSlots())
	for i := range values {
		values[i] = vector[i%cols]
	}

	j := &job{params: params, diagonals: diagonals, folds: folds, rows: rows}
	generator := rlwe.NewKeyGenerator(params)
	secret := generator.GenSecretKeyNew()
	j.encoder = bgv.NewEncoder(params)
	j.decryptor = rlwe.NewDecryptor(params, secret)
	plaintext := bgv.NewPlaintext(params, params.MaxLevel())
	check(j.encoder.Encode(values, plaintext))
	j.vector, err = rlwe.NewEncryptor(params, secret).EncryptNew(plaintext)
	check(err)
	j.transformation = lintrans.NewLinearTransformation(params, lintrans.Parameters{
		DiagonalsIndexList:        diagonals.DiagonalsIndexList(),
		LevelQ:                    params.MaxLevel(),
		LevelP:                    params.MaxLevelP(),
		Scale:                     params.NewScale(1),
		LogDimensions:             plaintext.LogDimensions,
		LogBabyStepGiantStepRatio: 1,
	})
	check(lintrans.Encode(j.encoder, diagonals, j.transformation))
	elements := j.transformation.GaloisElements(params)
	for _, fold := range folds {
		elements = append(elements, params.GaloisElement(fold))
	}
	keys := rlwe.NewMemEvaluationKeySet(nil, generator.GenGaloisKeysNew(elements, secret)...)
	j.evaluator = bgv.NewEvaluator(params, keys)
	j.linear = lintrans.NewEvaluator(j.evaluator)
	return j
}

func (j *job) run() {
	result, err := j.linear.EvaluateNew(j.vector, j.transformation)
	check(err)
	for _, fold := range j.folds {
		rotated, err := j.evaluator.RotateColumnsNew(result, fold)
		check(err)
		check(j.evaluator.Add(result, rotated, result))
	}
	j.result = result
}

func (j *job) values() []int64 {
	out := make([]int64, j.params.MaxSlots())
	check(j.encoder.Decode(j.decryptor.DecryptNew(j.result), out))
	return out[:j.rows]
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	output := bufio.NewWriter(os.Stdout)
	var j *job
	for input.Scan() {
		fields := strings.Fields(input.Text())
		begun := time.Now()
		switch fields[0] {
		case "setup":
			j = setup(fields[1:])
			fmt.Fprintf(output, "ok %d\n", len(j.diagonals))
		case "run":
			j.run()
			fmt.Fprintf(output, "ok %d\n", time.Since(begun).Nanoseconds())
		case "fresh":
			check(lintrans.Encode(j.encoder, j.diagonals, j.transformation))
			j.run()
			fmt.Fprintf(output, "ok %d\n", time.Since(begun).Nanoseconds())
		case "check":
			fmt.Fprint(output, "ok")
			for _, x := range j.values() {
				fmt.Fprintf(output, " %d", x)
			}
			fmt.Fprintln(output)
		default:
			panic("unknown command " + fields[0])
		}
		check(output.Flush())
	}
}
