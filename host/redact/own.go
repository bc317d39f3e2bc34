package redact

// ownRules are for what the published ones do not know: short passwords, told by where they stand. The form is that of the published.
const ownRules = `id = "bearer-token"
regex = '''(?i)\bbearer[ \t]{1,3}([\w=~@.+/:-]{6,300})'''
keywords = ["bearer"]
[[rules.allowlists]]
regexes = ['''^[A-Za-z_.-]{1,19}$''']

[[rules]]
id = "basic-authorization"
regex = '''(?i)\bauthorization['"]?\s{0,3}[:=,]\s{0,3}['"]?basic[ \t]{1,3}([a-z0-9+/_-]{8,300}={0,2})'''
entropy = 2.5
keywords = ["basic"]

[[rules]]
id = "url-password"
regex = '''://[^\x00-\x20/?#:@'"<>{}$\x60]{0,64}:([^\x00-\x20/?#@'"<>{}$\x60]{3,100})@[\w\[]'''
keywords = ["://"]

[[rules]]
id = "option-password"
regex = '''(?:^|\s)(?:-u|--user|--proxy-user)(?:=|[ \t]{1,3})['"]?[\w.@+-]{1,64}:([^\s'"$<>{}\x60]{3,100})'''
keywords = ["-u"]
[[rules.allowlists]]
regexes = ['''^[0-9]{1,6}$''', '''^[/\\\\]''']

[[rules]]
id = "password"
regex = '''(?i)(?:passw(?:or)?d|passphrase|[_-]pwd)['"]?[ \t]{0,5}['"]?(?:=>|:=|=|:)[ \t]{0,5}['"]{0,2}([\w!@#%^*+~?./-]{4,64})(?:[\s'",;&)\]}\x60<]|\\[nr]|$)'''
keywords = ["password", "passwd", "passphrase", "_pwd", "-pwd"]
[[rules.allowlists]]
regexes = ['''^[A-Za-z_.?!/-]+$''', '''^[0-9.]{1,5}$''', '''^[*.x]+$''', '''^\.{0,2}/''', '''^[+]''']

[[rules]]
id = "environment-password"
regex = '''\b[A-Z0-9_]{0,40}(?:PASSWORD|PASSWD|PASSPHRASE|PASS|PWD)=['"]?([^\s'"$;&|<>{}()*\x60]{4,100})'''
keywords = ["password=", "passwd=", "passphrase=", "pass=", "_pwd="]
[[rules.allowlists]]
regexes = ['''^\.{0,2}/''']
`
