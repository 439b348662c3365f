import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

/** What a tool gives: as text for whoever reads text, and as it is. */
const given = (value: object): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(value, undefined, 1) }],
  structuredContent: value as Record<string, unknown>,
});

/** A refusal is a result that the agent can read, with the code that it can go by. */
export const answering = async (work: () => Promise<object>): Promise<CallToolResult> => {
  try {
    return given(await work());
  } catch (error) {
    if (!(error instanceof HoldpointError)) throw error;
    const { code, message, details } = error;
    const body = { code, message, ...(details && { details }) };
    return { ...given({ error: body }), isError: true };
  }
};
