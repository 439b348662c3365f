import { z } from 'zod';

/**
 * What an agent is called that acts for a person. Whatever it asks for counts as asked for by that person, and its name stands
 * beside his: so neither is a second pair of eyes for the other.
 */
export const AgentName = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[^\s:,][^\n\r,:]*$/, 'a name without colons, commas and line ends');
