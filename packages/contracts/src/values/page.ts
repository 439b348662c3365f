import { z } from 'zod';

export const Page = z.object({
  limit: z.int().min(1).max(500).default(50),
  /** `next` of the previous page. */
  after: z.string().max(200).optional(),
});
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), next: z.string().optional() });
