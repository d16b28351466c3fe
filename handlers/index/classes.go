package index

// A class is a size of chunks. The classes are every 16 bytes up to 512, then
// what divides a span of one page (up to 4 KiB) or four pages (up to 21 KiB)
// with little left. What is larger has a run of pages of its own.
type classID uint8

const (
	fineClasses = 32 // the classes up to fineSize
	fineSize    = fineClasses << unitShift

	// ownRun is the class of chunks that are runs of pages.
	ownRun classID = 255

	spanHeaderSize = 16
	largeSpanPages = 4
)

// classSizes are the sizes of the classes; those of one-page spans end at
// smallSpans.
var (
	classSizes = makeClassSizes()
	smallSpans = fineClasses + len(smallCounts)
	maxChunk   = int(classSizes[len(classSizes)-1])
	classOf16  = makeClassOf16()
	perSpan    = makePerSpan()
)

// How many chunks the spans of the larger classes have: sizes grow by a quarter
// at most.
var (
	smallCounts = [...]int{28, 25, 22, 20, 18, 16, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4}
	largeCounts = [...]int{13, 11, 9, 8, 7, 6, 5, 4, 3}
)

func makeClassSizes() []uint32 {
	var sizes []uint32
	for i := range fineClasses {
		sizes = append(sizes, uint32(i+1)<<unitShift)
	}
	for _, n := range smallCounts {
		sizes = append(sizes, uint32(pageSize-spanHeaderSize)/uint32(n)&^15)
	}
	for _, n := range largeCounts {
		sizes = append(sizes, uint32(largeSpanPages*pageSize-spanHeaderSize)/uint32(n)&^15)
	}
	return sizes
}

// makeClassOf16 maps sizes, in units of 16 bytes rounded up, to classes.
func makeClassOf16() []classID {
	table := make([]classID, maxChunk>>unitShift+1)
	c := classID(0)
	for units := range table {
		if uint32(units)<<unitShift > classSizes[c] {
			c++
		}
		table[units] = c
	}
	return table
}

// classFor is the smallest class that holds n bytes.
func classFor(n int) classID {
	if n > maxChunk {
		return ownRun
	}
	return classOf16[(n+15)>>unitShift]
}

// pages is how many pages a span of the class has.
func (c classID) pages() int {
	if int(c) < smallSpans {
		return 1
	}
	return largeSpanPages
}

func (c classID) size() int { return int(classSizes[c]) }

// perSpan is how many chunks a span of the class has.
func (c classID) perSpan() int { return int(perSpan[c]) }

func makePerSpan() []uint16 {
	var counts []uint16
	for c := range classSizes {
		counts = append(counts, uint16((classID(c).pages()<<pageShift-spanHeaderSize)/classID(c).size()))
	}
	return counts
}

// pagesFor is how many pages a run of n bytes takes.
func pagesFor(n int) int { return (n + pageSize - 1) >> pageShift }
