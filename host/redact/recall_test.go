package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestRecall says which secrets are found in which carriers, and which are not. Where § stands the secret is put, so that no other tool
// takes these for real ones.
func TestRecall(t *testing.T) {
	t.Parallel()
	short, word := "hun"+"ter2!", "sword"+"fish"
	kinds := map[string]string{"aws": aws, "github": github, "stripe": stripe, "slack": slack, "jwt": bearer, "face": face, "secret": secret, "pass": pass,
		"gitlab": "glpat-" + "x7Kd93ksLq02mZaB4vN8", "google": "AIza" + "SyB7Kd93ksLq02mZaB4vN8tYcE5wRf1GhJ6", "npm": "npm_" + "x7Kd93ksLq02mZaB4vN8tYcE5wRf1GhJ6uQp",
		"sendgrid": "SG." + strings.Repeat("x7Kd93ksLq0", 6), "vault": "hvs." + strings.Repeat("x7Kd93ksLq02mZaB4vN8tYcE5wRf1Gh", 3), "twilio": "SK" + "0123456789abcdef0123456789abcdef",
		"anthropic": "sk-ant-api03-" + strings.Repeat("x7Kd93ksLq02mZaB4vN8tYcE5wRf1Gh", 3) + "AA", "openai": "sk-" + "x7Kd93ksLq02mZaB4vN8" + "T3BlbkFJ" + "x7Kd93ksLq02mZaB4vN8",
		"azure": "x7K8Q~" + "d93ksLq02mZaB4vN8tYcE5wRf1GhJ6uQp", "ocean": "dop_v1_" + strings.Repeat("0a1b2c3d4e5f6789", 4), "short": short, "word": word, "basic": "YWRtaW46" + "aHVudGVyMg=="}
	carriers := []struct {
		carrier, kinds string
		missed         bool
	}{
		{"§", "aws github stripe slack jwt face gitlab google npm sendgrid vault twilio anthropic openai azure ocean", false},
		{"log:\n§\nend", "aws github stripe slack jwt face gitlab google npm sendgrid vault twilio anthropic openai azure ocean", false},
		{"(see §)", "aws github stripe slack jwt face gitlab google npm sendgrid vault anthropic openai azure ocean", false},
		{"export API_KEY=§\nnext", "aws github stripe slack face gitlab google npm vault anthropic openai ocean secret pass", false},
		{"token: §", "github stripe jwt gitlab npm secret pass", false},
		{"- name: x\n  password: \"§\"\n", "pass short", false},
		{"{\"password\": \"§\", \"n\": 1}", "pass short", false},
		{"Authorization:\tBearer\t§", "jwt github pass", false},
		{"DB_PASSWORD=§ go run .", "pass short word", false},
		{"PGPASSWORD='§' psql", "pass short word", false},
		{"mysql_pwd = '§'", "pass short", false},
		{"postgres://ada:§@db.example.com:5432/shop", "pass short word", false},
		{"Server=db;User Id=sa;Password=§;", "pass short", false},
		{"host=db user=ada password=§ dbname=shop", "pass short", false},
		{"git clone https://ada:§@example.com/x.git", "github pass short", false},
		{"Authorization: Bearer §", "jwt github pass gitlab", false},
		{"curl https://x -H 'Authorization: Bearer §'", "jwt github pass", false},
		{"Authorization: Basic §", "basic", false},
		{"{'Authorization': 'Basic §'}", "basic", false},
		{"curl -u ada:§ https://x", "pass short word", false},
		{"curl https://x " + strings.Repeat("-H 'Accept: text/plain' ", 60) + "--user ada:§", "pass short word", false},
		// What gets through.
		{"the password is §", "pass short word", true},
		{"password: §", "word", true},
		{"login(§)", "pass short word", true},
		{"mysql -p§ shop", "pass short", true},
		{"PIN=§", "short", true},
	}
	total, found := 0, 0
	for _, c := range carriers {
		for _, kind := range strings.Fields(c.kinds) {
			text := strings.ReplaceAll(c.carrier, "§", kinds[kind])
			once, _ := json.Marshal(map[string]string{"output": text})
			twice, _ := json.Marshal(map[string]string{"arguments": string(once)})
			for i, in := range []string{text, string(once), string(twice)} {
				out := New().Text(in)
				if i > 0 {
					raw, _ := New().json([]byte(in))
					if out = string(raw); !json.Valid(raw) {
						t.Errorf("no JSON: %s", raw)
					}
				}
				if total++; !strings.Contains(out, kinds[kind]) {
					found++
				}
				if strings.Contains(out, kinds[kind]) != c.missed {
					t.Errorf("%s (%s), in JSON %d times: %s", c.carrier, kind, i, out)
				}
			}
		}
	}
	t.Logf("%d of %d are found", found, total)
	for _, plain := range []string{
		"commit 8fef8aeac6d1df334d3d3491c51d9a0b1c2d3e4f", "id 3491c51d-6712-8fef-8aea-c6d1df334d3d", "data:image/png;base64," + strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 40),
		"/home/ada/project/internal/parser/token_reader_test.go:120", "password: string", "password = req.body.password", "PWD=/home/ada", "docker run -u 1000:1000 x", "https://example.com:8080/a@b",
		"func login(password string, n int) error", "Bearer token", "basic authentication", "PASSWORD=$DB_PASSWORD", "git push -u origin main", "http://[::1]:8080/", "passwords: 12",
	} {
		if out := New().Text(plain); out != plain {
			t.Errorf("%s became %s", plain, out)
		}
	}
}
