package sqlitesnap

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Cell is one value. Bytes is valid until the function that got it returns.
type Cell struct {
	Null   bool
	Length int64  // in bytes, of text and blobs; numbers as their text
	Bytes  []byte // nil when the value is null or TooLong
}

// TooLong tells whether the value is longer than Options.MaxValue. Its bytes were not read then.
func (c *Cell) TooLong() bool { return !c.Null && c.Bytes == nil && c.Length > 0 }

// Row is one row; Cells are those of the columns asked for.
type Row struct {
	Key   string // empty in a table without keys
	RowID int64
	Cells []Cell
}

// Query asks for rows in the order of their keys, or of their row numbers in a table without keys and when ByRowID is set.
type Query struct {
	Table    string
	Columns  []string // of Table.Columns
	From, To string   // From <= key < To; both empty: all rows, only of a table whose keys are not restricted
	ByRowID  bool
}

// Prefix is the query for all keys that start with a prefix.
func Prefix(table, prefix string, columns ...string) Query {
	return Query{Table: table, Columns: columns, From: prefix, To: After(prefix)}
}

// Each hands the rows to each, one after another; the values of one row are held at a time.
func (s *Snapshot) Each(ctx context.Context, q Query, each func(*Row) error) error {
	t, err := s.table(q.Table, q.Columns)
	if err != nil {
		return err
	}
	order, where, args := "rowid", "", []any(nil)
	switch {
	case (q.From != "" || q.To != "") && t.Key == "", q.From == "" && q.To == "" && t.Keys != nil, !t.allows(q.From, q.To):
		return fmt.Errorf("sqlitesnap: rows of %q: %w", t.Name, errRefused)
	case q.From != "" || q.To != "":
		where, args = fmt.Sprintf(` WHERE "%s" >= ? AND "%s" < ?`, t.Key, t.Key), []any{q.From, q.To}
	}
	if t.Key != "" && !q.ByRowID {
		order = `"` + t.Key + `"`
	}
	return s.rows(ctx, t, q.Columns, where+" ORDER BY "+order, args, each)
}

// Get hands the row of one key to each; found is false when there is none.
func (s *Snapshot) Get(ctx context.Context, table, key string, columns []string, each func(*Row) error) (found bool, err error) {
	t, err := s.table(table, columns)
	switch {
	case err != nil:
		return false, err
	case t.Key == "" || !t.allowsKey(key):
		return false, fmt.Errorf("sqlitesnap: a key of %q: %w", t.Name, errRefused)
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	// One row is found before a goroutine that waits for a cancellation is started.
	ctx = context.WithoutCancel(ctx)
	err = s.rows(ctx, t, columns, fmt.Sprintf(` WHERE "%s" = ? LIMIT 1`, t.Key), []any{key}, func(row *Row) error {
		found = true
		return each(row)
	})
	return found, err
}

// Has tells whether the database holds a table with all columns that Options names for it.
func (s *Snapshot) Has(ctx context.Context, table string) (bool, error) {
	t, err := s.table(table, nil)
	if err != nil {
		return false, err
	}
	for _, column := range t.columns() {
		var n int
		row := s.conn.QueryRowContext(ctx, `SELECT count(*) FROM pragma_table_info(?) WHERE name = ?`, t.Name, column)
		if err := row.Scan(&n); err != nil || n == 0 {
			return false, s.failed(ctx, err)
		}
	}
	return true, nil
}

func (t *Table) columns() []string {
	if t.Key == "" || slices.Contains(t.Columns, t.Key) {
		return t.Columns
	}
	return append([]string{t.Key}, t.Columns...)
}

func (s *Snapshot) table(name string, columns []string) (*Table, error) {
	at := slices.IndexFunc(s.options.Tables, func(t Table) bool { return t.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("sqlitesnap: table %q: %w", name, errRefused)
	}
	t := &s.options.Tables[at]
	for _, column := range columns {
		if !slices.Contains(t.Columns, column) {
			return nil, fmt.Errorf("sqlitesnap: column %q of %q: %w", column, name, errRefused)
		}
	}
	return t, nil
}

// statement returns the prepared form of a query. The length of a value is in the head of its row, so that a value that is too
// long is not loaded.
func (s *Snapshot) statement(ctx context.Context, t *Table, columns []string, tail string) (*sql.Stmt, error) {
	var b strings.Builder
	key := "''"
	if t.Key != "" {
		key = fmt.Sprintf(`CAST("%s" AS TEXT)`, t.Key)
	}
	fmt.Fprintf(&b, "SELECT rowid, %s", key)
	for _, c := range columns {
		fmt.Fprintf(&b, `, octet_length("%s"), CASE WHEN octet_length("%s") <= %d THEN CAST("%s" AS BLOB) END`, c, c, s.options.MaxValue, c)
	}
	fmt.Fprintf(&b, ` FROM "%s"%s`, t.Name, tail)
	if known := s.statements[b.String()]; known != nil {
		return known, nil
	}
	made, err := s.conn.PrepareContext(ctx, b.String())
	if err == nil {
		s.statements[b.String()] = made
	}
	return made, err
}

func (s *Snapshot) rows(ctx context.Context, t *Table, columns []string, tail string, args []any, each func(*Row) error) error {
	statement, err := s.statement(ctx, t, columns, tail)
	if err != nil {
		return s.failed(ctx, err)
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return s.failed(ctx, err)
	}
	defer rows.Close()
	row := Row{Cells: make([]Cell, len(columns))}
	lengths, values := make([]sql.NullInt64, len(columns)), make([]sql.RawBytes, len(columns))
	targets := []any{&row.RowID, &row.Key}
	for i := range columns {
		targets = append(targets, &lengths[i], &values[i])
	}
	for rows.Next() {
		if ctx.Err() != nil {
			break
		}
		if err := rows.Scan(targets...); err != nil {
			return s.failed(ctx, err)
		}
		if t.Key != "" && !t.allowsKey(row.Key) {
			continue
		}
		for i := range columns {
			row.Cells[i] = Cell{Null: !lengths[i].Valid, Length: lengths[i].Int64, Bytes: values[i]}
		}
		if err := each(&row); err != nil {
			return err
		}
	}
	return s.failed(ctx, cmp.Or(ctx.Err(), rows.Err()))
}

// failed explains an error. Pages that were read while somebody changed the file may look damaged.
func (s *Snapshot) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, sql.ErrConnDone):
		return err
	}
	if changed := s.Verify(); changed != nil {
		return changed
	}
	return failure(err)
}
