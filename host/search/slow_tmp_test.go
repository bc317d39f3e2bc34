package search
import ("testing";"strings";"time")
func TestSlowTmp(t *testing.T){
 for _, s := range []string{strings.Repeat("İx", 500)+"q", strings.Repeat("\xff",700), strings.Repeat("\u0301", 200000)+"zephyr"+strings.Repeat("r",500), strings.Repeat("ก", 2000000)+"zephyr"+strings.Repeat("r",500), strings.Repeat("word ", 3000000)+"zephyr"} {
  st := time.Now(); snippet([]byte(s), []string{"zephyr"}); t.Log(len(s), time.Since(st))
 }
}
