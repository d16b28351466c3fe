// Package graphite reads Graphite's lines of text: path value time, where the path may
// have tags (path;key=value;...). Templates make host and service from a path. A line
// becomes a series.Point; what that becomes is said there.
//
// The package knows lines, not where they come from: no frames, no connections.
package graphite
