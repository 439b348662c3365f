import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { visible } from '../text/visible.ts';
import { hrefOf } from '../text/route.ts';

/** The choice of this browser, for all sessions in it. */
const CHOICE = 'holdpoint-notify';
const TEXT_MAX = 120;

/** Why this browser shows no notifications; undefined if it can. */
export const hindrance = (): string | undefined => {
  if (!('Notification' in globalThis) || !isSecureContext)
    return 'This browser shows notifications only over HTTPS or on this machine.';
  return Notification.permission === 'denied' ? 'Your browser blocks notifications of this page.' : undefined;
};

export const isOn = (): boolean =>
  hindrance() === undefined && Notification.permission === 'granted' && localStorage.getItem(CHOICE) === 'on';

/** Asks the browser for permission. Resolves to the new state. */
export const turn = async (on: boolean): Promise<boolean> => {
  localStorage.setItem(CHOICE, on ? 'on' : 'off');
  if (on && hindrance() === undefined) await Notification.requestPermission();
  return isOn();
};

/** Shows a new request while the page is in the background. */
export const notify = ({ id, title }: Pick<ApprovalView, 'id' | 'title'>): void => {
  if (document.visibilityState === 'visible' || !isOn()) return;
  try {
    const shown = new Notification('Holdpoint needs a decision', {
      body: visible(title).slice(0, TEXT_MAX),
      tag: id,
    });
    shown.addEventListener('click', () => {
      focus();
      location.hash = hrefOf('inbox', id);
      shown.close();
    });
  } catch {
    // Phones allow notifications of service workers only.
  }
};
