package lexical

import (
	"context"
	"slices"

	"github.com/blugelabs/bluge"
)

// stockSearch runs a term query of the engine itself over a directory and returns the numbers of the matches, ascending.
func stockSearch(dir, term string, field Field) ([]uint64, error) {
	engine, err := bluge.OpenReader(bluge.DefaultConfig(dir))
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	matches, err := engine.Search(context.Background(), bluge.NewAllMatches(bluge.NewTermQuery(term).SetField(field.String())))
	if err != nil {
		return nil, err
	}
	var numbers []uint64
	for {
		match, err := matches.Next()
		if err != nil {
			return nil, err
		}
		if match == nil {
			slices.Sort(numbers)
			return numbers, nil
		}
		numbers = append(numbers, match.Number)
	}
}
