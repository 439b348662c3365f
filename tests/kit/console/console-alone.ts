import { buildPage, startChromium, type Visitor, visit } from './browser.ts';
import { sampleState } from './sample-data.ts';
import { type ConsoleStandIn, startConsoleStandIn } from './stand-in.ts';

export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } as const;

/** The page alone in a real browser, with a stand-in that answers from memory. */
export type ConsoleAlone = {
  readonly standIn: ConsoleStandIn;
  readonly open: (hash: string, options?: Parameters<typeof visit>[3]) => Promise<Visitor>;
  /**
   * Ends all visits and resets the stand-in. Throws if a browser complained: of errors, or of violations
   * of its policy.
   */
  readonly leave: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

export const startConsoleAlone = async (executable: string): Promise<ConsoleAlone> => {
  await buildPage();
  const standIn = await startConsoleStandIn(sampleState());
  const browser = await startChromium(executable);
  const visitors: Visitor[] = [];
  return {
    standIn,
    open: async (hash, options = {}) => {
      const visitor = await visit(browser, standIn.url + hash, standIn.state.token, options);
      visitors.push(visitor);
      return visitor;
    },
    leave: async () => {
      const complaints = visitors.flatMap((visitor) => visitor.complaints);
      for (const { context } of visitors.splice(0)) await context.close();
      Object.assign(standIn.state, sampleState());
      if (complaints.length > 0) throw new Error(`a browser complains: ${complaints.join('; ')}`);
    },
    stop: async () => {
      await browser.close();
      await standIn.stop();
    },
  };
};
