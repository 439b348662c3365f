import { useEffect, useState } from 'preact/hooks';
import { useSession } from '../session/context.ts';

/** The service's clock, once a second while the page is visible. Epoch milliseconds. */
export const useNow = (): number => {
  const { caller } = useSession();
  const [now, setNow] = useState(caller.now);
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') setNow(caller.now());
    }, 1_000);
    return () => clearInterval(timer);
  }, [caller]);
  return now;
};
