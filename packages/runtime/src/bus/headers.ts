import type { MsgHdrs } from '@nats-io/transport-node';
import type { HeaderPairs } from '@holdpoint/contracts/bus/cloudevents';

const encoder = new TextEncoder();
// What may not stand in a header: a line end would start another one. Names are our own.
const UNSAFE = /[\r\n\0]/;

/**
 * Headers ready for the wire. The client's own object checks and sorts every name anew for each message, which costs
 * more than all the rest of publishing; when it sends, all it asks of the object is `encode`.
 * Throws `TypeError` on a value with a line end.
 */
export const wireHeaders = (pairs: HeaderPairs): MsgHdrs => {
  let text = 'NATS/1.0\r\n';
  for (const [name, value] of pairs) {
    if (UNSAFE.test(value)) throw new TypeError(`the header ${name} may not hold a line end`);
    text += `${name}: ${value}\r\n`;
  }
  const encoded = encoder.encode(`${text}\r\n`);
  return { encode: () => encoded } as unknown as MsgHdrs;
};
