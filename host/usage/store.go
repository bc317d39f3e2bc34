package usage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/agenthistory/ctx/host/fault"
)

const schema = `CREATE TABLE daily (
	day_utc TEXT NOT NULL, definition_version INTEGER NOT NULL, ctx_version TEXT NOT NULL, surface TEXT NOT NULL, operation TEXT NOT NULL,
	outcome TEXT NOT NULL, value_class TEXT NOT NULL, duration_bucket TEXT NOT NULL, context_coverage TEXT NOT NULL,
	calls INTEGER NOT NULL, result_count INTEGER NOT NULL, delivered_output_bytes INTEGER NOT NULL,
	delivered_context_bytes INTEGER NOT NULL, matched_normalized_session_bytes INTEGER NOT NULL,
	PRIMARY KEY (day_utc, definition_version, ctx_version, surface, operation, outcome, value_class, duration_bucket, context_coverage)
) STRICT, WITHOUT ROWID; PRAGMA user_version = 4`

const upsert = `INSERT INTO daily VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
	calls = calls + excluded.calls, result_count = result_count + excluded.result_count,
	delivered_output_bytes = delivered_output_bytes + excluded.delivered_output_bytes,
	delivered_context_bytes = delivered_context_bytes + excluded.delivered_context_bytes,
	matched_normalized_session_bytes = matched_normalized_session_bytes + excluded.matched_normalized_session_bytes`

// database opens the store. Nothing is synchronised to the disk: a killed process is undone by the rollback journal, and losing
// counters to a power cut is cheaper than a disk flush for every command.
func database(path, mode string, wait time.Duration) (*sql.DB, error) {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	query := fmt.Sprintf("mode=%s&_busy_timeout=%d&_pragma=synchronous(0)&_txlock=immediate", mode, wait.Milliseconds())
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: query}).String())
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// write adds a call to its daily row and forgets the days before oldest. The data root is created when only its last part is missing.
func write(ctx context.Context, dataRoot string, r row, oldest string) error {
	if err := os.Mkdir(dataRoot, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	file, err := os.OpenFile(storePath(dataRoot), os.O_CREATE|os.O_RDWR, 0o600) // SQLite would let others read it
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	db, err := database(storePath(dataRoot), "rw", lockWait)
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	version, err := userVersion(ctx, tx)
	if err == nil && version == 0 {
		_, err = tx.ExecContext(ctx, schema)
	}
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, upsert, r.day, r.definition, r.ctxVersion, r.surface, r.operation, r.outcome, r.value, r.bucket, r.coverage,
		r.calls, r.results, r.output, r.delivered, r.matched); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM daily WHERE day_utc < ?", oldest); err != nil {
		return err
	}
	return tx.Commit()
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// userVersion returns storeVersion, or 0 for a new store; any other is an error.
func userVersion(ctx context.Context, q querier) (int, error) {
	var version int
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if version != 0 && version != storeVersion {
		return 0, fmt.Errorf("store version %d", version)
	}
	return version, nil
}

// read calls use for every daily row that is kept, in order of its key, until use returns false. Without a store there is none.
func read(ctx context.Context, dataRoot string, oldest string, use func(row) bool) error {
	const wait = time.Second
	if info, err := os.Stat(storePath(dataRoot)); errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil
	}
	db, err := database(storePath(dataRoot), "ro", wait)
	if err != nil {
		return err
	}
	defer db.Close()
	version, err := userVersion(ctx, db)
	if err != nil || version == 0 {
		return err
	}
	rows, err := db.QueryContext(ctx, "SELECT * FROM daily WHERE day_utc >= ? ORDER BY definition_version, ctx_version, surface, operation, day_utc", oldest)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.day, &r.definition, &r.ctxVersion, &r.surface, &r.operation, &r.outcome, &r.value, &r.bucket, &r.coverage,
			&r.calls, &r.results, &r.output, &r.delivered, &r.matched); err != nil {
			return err
		}
		if !use(r) {
			return nil
		}
	}
	return rows.Err()
}

// Reset removes the store: cleared, or missing when there was none.
func Reset(dataRoot string) (state string, err error) {
	state = "missing"
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		switch err := os.Remove(storePath(dataRoot) + suffix); {
		case err == nil:
			state = "cleared"
		case !errors.Is(err, fs.ErrNotExist):
			return "", fault.Wrap(err, fault.ResourceUnavailable, "the usage counters cannot be removed").
				WithHint("check the owner and the permissions of the data root")
		}
	}
	return state, nil
}
