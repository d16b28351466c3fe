// Package series makes events of points: values of named series, with tags and a
// time, as metrics protocols send them in lines of text. A Point is scratch memory
// that takes up one point after the other; a Problem is why a line brings none.
//
// The tag host becomes the event's host. The others become attributes, and stand
// behind the name in the service, so that two series never share an entry of the
// index. The package keeps nothing of what it reads, and allocates nothing once a
// Point has seen lines of their usual size.
package series
