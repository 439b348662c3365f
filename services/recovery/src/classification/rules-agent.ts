import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';

/**
 * Final messages of model providers and of agents. They have no fixed form, so they may match anywhere in a
 * line.
 */
export type AgentRule = { readonly id: string; readonly class: FailureClass; readonly pattern: string };

const raw = String.raw;
const rules = (failureClass: FailureClass, table: Readonly<Record<string, string>>): readonly AgentRule[] =>
  Object.entries(table).map(([id, pattern]) => ({ id, class: failureClass, pattern: `(?i)${pattern}` }));

const ERRNO = 'E(?:CONNREFUSED|CONNRESET|CONNABORTED|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH|PIPE)';
const CONTEXT = raw`(?:context[ _-]?(?:window|length|size|limit)|(?:model's|available|max(?:imum)?|your) context|token limit|max(?:imum)? (?:allowed )?(?:prompt|input|number of (?:input )?tokens|model len|tokens|sequence))`;

/** The first matching rule gives a line its meaning; of several lines the last one counts. */
export const AGENT: readonly AgentRule[] = [
  // Answers can be too long too; a new session does not help.
  ...rules('UNKNOWN', {
    'agent-output-limit': raw`output token maximum|max_output_tokens.*(?:exceeded|reached)`,
  }),
  // A rate limit that a single request exceeds: waiting does not help.
  ...rules('CONTEXT_EXHAUSTED', {
    'agent-request-too-large': raw`request too large(?: for\b| \()|request_too_large`,
  }),
  ...rules('TRANSIENT', {
    'agent-tokens-per-minute': raw`tokens per (?:min|hour|day|second)|\b[tr]pm\b|rate[ _-]limit of [\d,]+|too many tokens, please wait`,
  }),
  ...rules('CONTEXT_EXHAUSTED', {
    'agent-prompt-too-long': raw`\b(?:prompt|input|conversation|context) (?:(?:is|was|has become|has grown|grew) )?too (?:long|large)\b|\bprompt exceeds max(?:imum)? length|(?:long|large) for requested model`,
    'agent-context-code': raw`context_length_exceeded|context_window_exceeded|contextwindow(?:exceeded|overflow)|context_?overflow|contextlength(?:exceeded|error)|exceed_context_size|max_prompt_tokens_exceeded|string_above_max_length|max_context_length`,
    'agent-maximum-length': raw`maximum (?:context|model|prompt|sequence|input) length (?:is|of)\b|context length is only \d|configured context size is \d|too large for model with \d+`,
    'agent-too-many-tokens': raw`\btokens?\b.*\bexceed(?:s|ed|ing)?\b.*(?:max|limit|context|allowed|\d{4})|\bexceed(?:s|ed|ing)?\b.*\b(?:max\w*|limit|window)\b.*\btokens?\b|\d tokens? > \d|too many (?:input |prompt )?tokens\b|prompt contains [\d,]+ tokens|tokens in request more than max`,
    'agent-exceeds-context': raw`\b(?:exceed(?:s|ed|ing)?|(?:long|larg|great|bigg)er than|too (?:long|large|big) (?:for|to fit)|(?:not|n't) fit (?:in|into|within)|overflow(?:s|ed)?)\b.*\b${CONTEXT}`,
    'agent-out-of-context': raw`ran out of room in the model.s context|(?:ran|run|running) out of (?:context|room in)|out of context (?:window|space)|\bcontext (?:window|length|limit|size)s? (?:(?:has|was|is|limit|been|already) )*(?:exceeds?|exceeded|exhausted|reached|full|overflow)`,
    'agent-context-low': raw`^\W*context low\b|context left until auto-compact: 0%|auto-?compact(?:ion)? failed|error (?:during|in|while) compact|\b0% context left`,
    'agent-shorten': raw`input validation error: .inputs|range of input length should be|reduce (?:the length of (?:the|your)|your) (?:messages?|prompt|input|conversation)|shorten (?:the|your) (?:prompt|conversation|input)|use (?:the )?.?/(?:compact|compress).? (?:command )?to`,
    'agent-token-limit': raw`has hit a token limit|exhausted context window|exceeded (?:the )?model token limit|maximum (?:input )?token (?:limit|count)`,
  }),
  // A person has to pay or log in; waiting does not help.
  ...rules('UNKNOWN', {
    'agent-quota': raw`insufficient_quota|credit balance is too low|billing_hard_limit|payment required|out of credits|insufficient (?:balance|credits|funds)`,
    'agent-key': raw`invalid (?:x-)?api[ _-]key|api key not valid|authentication_error|invalid_api_key|incorrect api key|please run /login|\b401 unauthorized|oauth token (?:has )?expired|not logged in`,
  }),
  ...rules('TRANSIENT', {
    'agent-overloaded': raw`overloaded_error|\boverloaded\b|experiencing high demand|at capacity|capacity exceeded|\b529\b.*(?:error|\{)|server_is_overloaded|temporarily unavailable`,
    'agent-rate-limit': raw`rate[ _-]?limit(?:_error|[ _-]?exceeded| reached| hit|ed\b|error)|(?:hit|exceed\w*|reached).* rate[ _-]?limit|too many requests|\b(?:http|status|error|code)\b.{0,12}\b429\b|\b429:? (?:too many|rate|resource|client error|\{)|throttl(?:ed|ing)exception|throttling|resource[ _]?(?:has been )?exhausted|quota (?:exceeded|metric)|exceeded your current quota|usage limit reached|hit your (?:usage )?limit|\d-hour limit reached|(?:try again|retry) (?:in \d|later|at \d|after \d)`,
    'agent-server-error': raw`internal[ _]?server[ _]?error|"api_error"|service[ _]?unavailable|\bbad gateway\b|gateway[ _]?time-?out|\b(?:http|status|api error|error)(?: code)?[:= (]+5\d\d\b|server had an error|upstream connect error|modelerrorexception|internalfailure`,
    'agent-network': raw`\b${ERRNO}\b|fetch failed|socket hang up|connection (?:error|refused|reset|closed|timed out|aborted|lost)|apiconnectionerror|api(?:connection)?timeouterror|request timed out|read timed? ?out|stream (?:disconnected|error|closed|ended) ?\b|error sending request|could(?: not|n't) resolve host|getaddrinfo|dial tcp|name or service not known|name resolution|network (?:error|is unreachable)|unexpected eof|premature close|tls handshake|und_err_|\bdns error|error decoding response body|failed to connect to`,
  }),
];
