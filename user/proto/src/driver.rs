//! Protocol 15, `driver`: a device in the hands of a driver, and the requests that it carries out.

crate::protocol! {
    /// A driver's parent, as it gives the device and memory that the device reaches; and a wire,
    /// which the driver gives, and by which it gets requests. Requests and answers lie in parts of
    /// the memory. The wire of a network card's driver gets no requests of the parent's: it goes to
    /// clients, and answers `nic`.
    driver = 15;

    /// Returns the slot of the device on the first bus of PCI, and its configuration space as it
    /// is. `ENODEV`: there is no such device.
    1 device() -> (slot: Number; bytes space: Data);
    /// Returns the registers with this number, on whole pages, and how many bytes the device has
    /// there. `ENODEV`: there are none.
    2 registers(number: Number) -> (size: Number; references window: Region(DATA));
    /// Returns memory, all zeros, its address as the device counts, and its sizes: of the part that
    /// is for the device, and of two equal parts behind it, for a request and for its answer (0:
    /// there are none).
    3 memory() -> (address: Hex, device: Number, part: Number; references memory: Region(DATA));
    /// The device works: from now on requests come by this wire, one at a time. The parent waits
    /// for an answer for half a minute. Then, or if the driver has ended, it starts a new one.
    4 ready(; references wire: Kept(Wire)) -> ();
    /// Carries out the request of so many bytes that lies in its part of the memory, and returns
    /// the size of the answer in the other part; at a wire. 0 bytes: everything is to be brought to
    /// the device now, since the machine ends. Requests are numbered from 1 on. The parent asks for
    /// the same number again after a while, to see whether the driver is alive: it is carried out
    /// once, and its answer is told each time.
    5 carry_out(request: Number, number: Number) -> (answer: Number);
    /// Returns the interrupt line of the device, the first one of the range, for the driver to
    /// bind. `ENODEV`: there is none for this device alone.
    6 line() -> (; references line: Interrupts);
    /// Has the port notified with these bits when the device has interrupted, for a device that
    /// shares its line. The device was asked by then: its line is down. `ENODEV`: it has none.
    7 interrupts(bits: Hex; references port: Kept(Port)) -> ();
    /// Mixes bytes of a source of random ones into those that the parent gives out. They are not
    /// trusted: who knows them knows no more of the others. `EPERM`: the device is no such source.
    8 mix(; bytes random: Data) -> ();
}
