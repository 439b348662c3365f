import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { FORGED } from '../bus-recorder.ts';
import { type Check, takeNotes } from './check.ts';

export const attacks: Check = {
  id: 'K34',
  promise: 'a forged message is refused for its seal, and a token opens nothing beyond its scope',
  attacks: true,
  ofRun: ({ attacks: made, letters }) => {
    const { expect, finding } = takeNotes();
    for (const { attacker, tried, accepted } of made) {
      for (let i = accepted.length; i < tried; i += 1) expect(true, () => '');
      for (const each of accepted) expect(false, () => `${attacker}: ${each} was accepted`);
    }
    for (const { service, letter } of letters)
      if (letter.headers[HEADERS.messageId]?.startsWith(FORGED) === true)
        expect(
          letter.reason.code.startsWith('SEAL_'),
          () => `${service} refused a forged ${letter.subject} for ${letter.reason.code} alone`,
        );
    return finding();
  },
};
