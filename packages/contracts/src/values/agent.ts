import { z } from 'zod';

/**
 * Name of an agent that acts for a person. Its requests count as requests of that person, so neither can
 * approve for the other.
 */
export const AgentName = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[^\s:,][^\n\r,:]*$/, 'a name without colons, commas or line ends');
