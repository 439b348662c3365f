import { ErrorBody } from '@holdpoint/contracts/values/errors';

export type ServerEvent = {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: { readonly [name: string]: unknown };
};

export type ReadEvents = {
  readonly status: number;
  /** The error of a refused stream. */
  readonly refusal: ErrorBody | undefined;
  readonly all: (event: string) => readonly ServerEvent[];
  /** Resolves once the server has closed it. */
  readonly ended: Promise<void>;
  readonly stop: () => void;
};

const eventIn = (block: string): ServerEvent | undefined => {
  const fields = new Map(
    block
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith(':'))
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const),
  );
  const [event, data] = [fields.get('event'), fields.get('data')];
  if (event === undefined || data === undefined) return undefined;
  return { event, id: fields.get('id'), data: JSON.parse(data) as ServerEvent['data'] };
};

/** Reads server-sent events like the page: with `fetch`, which sends the token in a header. */
export const openEvents = async (url: string, token: string): Promise<ReadEvents> => {
  const abort = new AbortController();
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}` },
    signal: abort.signal,
  });
  const { status, body } = response;
  const events: ServerEvent[] = [];
  const reader = {
    all: (event: string) => events.filter((each) => each.event === event),
    stop: () => abort.abort(),
  };
  if (status !== 200 || body === null)
    return { ...reader, status, refusal: ErrorBody.parse(await response.json()), ended: Promise.resolve() };
  const read = async (): Promise<void> => {
    let text = '';
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const blocks = (text + chunk).split('\n\n');
      text = blocks.pop() ?? '';
      events.push(...blocks.flatMap((block) => eventIn(block) ?? []));
    }
  };
  return { ...reader, status, refusal: undefined, ended: read().catch(() => undefined) };
};
