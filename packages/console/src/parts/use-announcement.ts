import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Session } from '../session/context.ts';

const SAID_FOR_MS = 6_000;

/** Announcements of this user's actions and of other users' actions do not replace each other. */
type Kind = 'own' | 'news';
type Announcement = { readonly kind: Kind; readonly text: string; readonly tone: 'good' | 'bad' };

/** Temporary announcements: the latest of each kind. */
export const useAnnouncement = () => {
  const [announcements, setSaid] = useState<readonly Announcement[]>([]);
  const timers = useRef(new Map<Kind, ReturnType<typeof setTimeout>>());
  useEffect(() => {
    const running = timers.current;
    return () => {
      for (const timer of running.values()) clearTimeout(timer);
    };
  }, []);
  const put = useCallback((next: Announcement): void => {
    const others = (all: readonly Announcement[]) => all.filter(({ kind }) => kind !== next.kind);
    clearTimeout(timers.current.get(next.kind));
    timers.current.set(
      next.kind,
      setTimeout(() => setSaid(others), SAID_FOR_MS),
    );
    setSaid((all) => [...others(all), next]);
  }, []);
  const say = useCallback<Session['say']>((text, tone = 'good') => put({ kind: 'own', text, tone }), [put]);
  const tell = useCallback((text: string): void => put({ kind: 'news', text, tone: 'good' }), [put]);
  return { announcements, say, tell };
};
