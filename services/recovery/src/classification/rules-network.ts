import { hint, machine, network, type Rule } from './rules.ts';

const raw = String.raw;
const ERRNO =
  'E(?:CONNREFUSED|CONNRESET|CONNABORTED|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH|SOCKETTIMEDOUT)';
const PASSING = '(?:429|502|503|504|52[0-4])';

/** Problems of the machine, which no code change can fix. */
export const MACHINE: readonly Rule[] = [
  machine('UNKNOWN', 'disk-full', raw`No space left on device|\bENOSPC\b|^fatal: .*[Dd]isk quota exceeded`),
  machine(
    'UNKNOWN',
    'heap-limit',
    raw`^FATAL ERROR: .*JavaScript heap out of memory|^java\.lang\.OutOfMemoryError`,
  ),
  machine(
    'TRANSIENT',
    'killed-compiler',
    raw`(?:fatal error|error): Killed signal terminated program|\(signal: 9, SIGKILL: kill\)|^Killed$|: signal: killed$`,
  ),
  machine('TRANSIENT', 'git-lock', raw`^fatal: Unable to create '.*\.lock': File exists`),
  machine(
    'TRANSIENT',
    'package-lock',
    raw`^E: Could not get lock |^E: Unable to acquire the dpkg frontend lock`,
  ),
];

/** Messages of tools that download. */
export const NETWORK: readonly Rule[] = [
  network(
    'npm-network',
    raw`^npm (?:ERR!|error) (?:network |code (?:${ERRNO}|FETCH_ERROR|ERR_SOCKET_TIMEOUT|EPROTO|EIDLETIMEOUT|E${PASSING}|E5\d\d)$)`,
  ),
  network('npm-fetch', raw`^npm (?:ERR!|error) FetchError: `),
  network(
    'pnpm-network',
    raw`ERR_PNPM_(?:META_FETCH_FAIL|FETCH_5\d\d|FETCH_429|BROKEN_METADATA_JSON)|^\s*WARN\s+GET \S+ error \(`,
  ),
  network(
    'yarn-network',
    raw`^(?:error An unexpected error occurred: ".*(?:${ERRNO}|Request failed)|info There appears to be trouble with your network|➤ YN0001: .*(?:RequestError|${ERRNO}))`,
  ),
  network(
    'bun-network',
    raw`^error: (?:ConnectionRefused|ConnectionClosed|FailedToOpenSocket|Timeout) downloading `,
  ),
  network(
    'pip-connection',
    raw`^WARNING: Retrying \(Retry\(|^ERROR: (?:Could not install packages due to an (?:OSError|EnvironmentError): HTTPS?ConnectionPool|HTTP error ${PASSING})`,
  ),
  network('pip-timeout', raw`^(?:pip\._vendor\.)?(?:urllib3|requests)\.exceptions\.\w+(?:: |$)`),
  network(
    'uv-network',
    raw`^\s*(?:error: Failed to (?:fetch|download)|(?:├─▶|╰─▶) (?:Request failed after|error sending request|dns error|tcp connect error|client error \(Connect\)|Failed to fetch))`,
  ),
  network('conda-network', raw`^CondaHTTPError: |^CondaSSLError`),
  network(
    'cargo-network',
    raw`^\s*(?:warning: spurious network error|error: (?:failed to (?:download|fetch)|could not download file) |failed to download from |\[\d+\] (?:Could|Fail|Timeout|SSL|HTTP2|Recv|Send|Operation|Error|Transferred)|failed to connect to \S+: |network failure seems to have happened|failed to get successful HTTP response from .* got (?:${PASSING}|5\d\d)|failed to resolve address|download of \S+ failed$)`,
  ),
  network(
    'go-network',
    raw`\bdial (?:tcp|udp)[^:]*:.*(?:i/o timeout|connection refused|no such host|connection reset|network is unreachable|no route to host|server misbehaving|operation timed out)|\bdial tcp: lookup \S+`,
  ),
  network(
    'go-proxy',
    raw`^go: .*: (?:reading https?://\S+|Get ".*"): (?:${PASSING} |5\d\d |.*(?:TLS handshake timeout|unexpected EOF|connection reset))|^\S+\.go:\d+:\d+: \S+@v.*: (?:reading|Get) .*(?:: (?:${PASSING}|5\d\d) |TLS handshake timeout|unexpected EOF|connection reset)`,
  ),
  network(
    'git-network',
    raw`^\s*fatal: (?:unable to access '.*': (?:Could not resolve|Couldn't|Failed to connect|Connection|Operation timed out|Recv failure|SSL|GnuTLS|OpenSSL|Empty reply|The requested URL returned error: (?:${PASSING}|5\d\d))|unable to (?:connect to|look up) |the remote end hung up|early EOF)|^error: RPC failed; `,
  ),
  network(
    'ssh-network',
    raw`^(?:ssh: (?:Could not resolve hostname|connect to host)|kex_exchange_identification: |Connection (?:closed|reset) by \S+ port \d+|ssh_exchange_identification: )`,
  ),
  network(
    'curl',
    raw`^curl: \((?:5|6|7|16|18|28|35|52|55|56|92)\) |^curl: \(22\) The requested URL returned error: (?:${PASSING}|5\d\d)`,
  ),
  network(
    'wget',
    raw`^wget: unable to resolve host address|^(?:Connecting to|Resolving) .*failed: |^.*ERROR (?:${PASSING}|5\d\d): |^Read error \(`,
  ),
  network(
    'apt',
    raw`^(?:W|E): Failed to fetch |^Err:\d+ |^E: Unable to fetch some archives|Temporary failure resolving`,
  ),
  network(
    'docker',
    raw`^(?:Error response from daemon|ERROR|error|failed to solve): .*(?:dial tcp|TLS handshake timeout|toomanyrequests|i/o timeout|connection reset|Client\.Timeout exceeded)`,
  ),
  network(
    'maven',
    raw`Could not transfer artifact .* from/to |> Could not (?:GET|HEAD) '.*'|Connection timed out: connect$`,
  ),
  network(
    'node-connect',
    raw`^(?:Uncaught )?(?:\[cause\]: )?(?:Aggregate)?Error: (?:connect|getaddrinfo|read|write|queryA) ${ERRNO}\b`,
  ),
  network(
    'node-connect-cause',
    raw`^\s+\[cause\]: (?:Aggregate)?Error(?: \[\w+\])?: (?:connect |getaddrinfo |read |)?(?:${ERRNO}|Connect Timeout|other side closed)|^\s+\[cause\]: \w*TimeoutError: |^(?:Uncaught )?(?:\w*Error: )?(?:socket hang up|Client network socket disconnected)`,
  ),
  network('node-fetch', raw`^(?:Uncaught )?\[?TypeError: (?:fetch failed|terminated)\]?(?: \{)?$`),
  network(
    'python-connect',
    raw`^(?:[\w.]+\.)?(?:timeout|ConnectionRefusedError|ConnectionResetError|ConnectionAbortedError|BrokenPipeError|TimeoutError|ConnectTimeout|ReadTimeout|ConnectError|ConnectionError|gaierror|URLError|RemoteDisconnected|NewConnectionError|MaxRetryError|IncompleteRead|ClientConnectorError|ServerDisconnectedError|RemoteProtocolError|ReadTimeoutError|ProtocolError)(?:: |$)`,
  ),
  network('python-http', raw`^(?:[\w.]+\.)?HTTPError: (?:HTTP Error )?(?:${PASSING}|5\d\d)\b`),
  network(
    'java-connect',
    raw`^(?:Exception in thread .* |Caused by: )?java\.net\.(?:ConnectException|UnknownHostException|SocketTimeoutException|SocketException|NoRouteToHostException)`,
  ),
  network(
    'rust-connect',
    raw`error sending request for url|Error \{ kind: (?:ConnectionRefused|ConnectionReset|TimedOut)|Os \{ code: (?:111|104|110), kind: Connection`,
  ),
];

/** Generic words of any program: the weakest signs. */
export const NETWORK_WORDS: readonly Rule[] = [
  hint(
    'TRANSIENT',
    'network-errno',
    raw`\b${ERRNO}\b|\bUND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT\b|\bUND_ERR_SOCKET\b`,
  ),
  hint(
    'TRANSIENT',
    'network-words',
    raw`(?i)\b(?:connection (?:refused|reset|timed out|aborted)|could(?: not|n't) resolve host|name or service not known|temporary failure in name resolution|network is unreachable|no such host|i/o timeout|tls handshake timeout|getaddrinfo failed|nodename nor servname)\b`,
  ),
  hint(
    'TRANSIENT',
    'http-status',
    raw`(?i)\b(?:http(?:/[\d.]+)?|status(?: code)?|error|response)[:= ]+${PASSING}\b|\b(?:429 Too Many Requests|502 Bad Gateway|503 Service (?:Temporarily )?Unavailable|504 Gateway Time-?out)\b`,
  ),
  hint('TRANSIENT', 'address-in-use', raw`\bEADDRINUSE\b|[Aa]ddress already in use`),
];
