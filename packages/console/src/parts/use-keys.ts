import { useLayoutEffect, useRef } from 'preact/hooks';
import { hrefOf, type Page, routeOf } from '../text/route.ts';

type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
  !(target instanceof HTMLInputElement && /^(checkbox|radio|button|range)$/.test(target.type));

/** Keyboard shortcuts, inactive in fields and dialogs. */
export const useKeys = (keys: Keys): void => {
  const latest = useRef(keys);
  latest.current = keys;
  // Before the page is painted: a person may press a key as soon as they see it.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
      const act = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined;
      if (act === undefined) return;
      event.preventDefault();
      act(event);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
};

/** Opens the next or the previous row of a list; without an open row the first or the last one. */
export const moveAmong = (page: Page, ids: readonly string[], by: 1 | -1): void => {
  // The address, because the page may not have drawn the row of the last press yet.
  const at = ids.indexOf(routeOf(location.hash).rest[0] ?? '');
  const next = ids.at(at < 0 ? Math.min(0, by) : Math.max(0, Math.min(ids.length - 1, at + by)));
  if (next !== undefined) location.hash = hrefOf(page, next);
};
